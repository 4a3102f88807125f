from hypothesis import settings

# The machines that run this are shared: how long one example takes says nothing about it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
