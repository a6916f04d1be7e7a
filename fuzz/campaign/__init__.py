"""A campaign as in CI: replays what is known, then runs every engine for its share of the time."""
