"""What tests SDKs: the driver protocol, the process that speaks it, and what is held against it. Names no protocol."""
