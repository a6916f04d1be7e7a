"""The correct servers: transports that know no protocol, one package for each protocol, an injected clock."""
