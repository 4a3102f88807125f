"""Before anybody is asked: how many people, which epsilon."""
