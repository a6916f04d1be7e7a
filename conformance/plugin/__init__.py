"""The pytest plugin, and the module that collects every case as an item."""
