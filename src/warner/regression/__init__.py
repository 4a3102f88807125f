"""Who says yes: how answers depend on what else is known of people, from reports that were randomized."""
