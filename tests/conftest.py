import os

from hypothesis import settings

# The machines that run this are shared: how long one example takes says nothing about it.
settings.register_profile("patient", deadline=None, max_examples=50)
settings.register_profile("long", deadline=None, max_examples=300)  # of `make test-all`
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))
