"""Dissectors for other tools, generated from the layouts: Lua for Wireshark, packet classes for scapy."""
