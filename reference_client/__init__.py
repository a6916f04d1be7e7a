"""What a correct client does: a transport that knows no protocol, one SDK package per protocol, and their driver."""
