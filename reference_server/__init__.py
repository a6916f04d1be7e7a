"""What a correct server does: transports that know no protocol, one semantics module per protocol, injected time."""
