"""Before anybody is asked: how many people, which epsilon, and how sure the answer will be."""
