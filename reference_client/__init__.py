"""The correct SDKs: a transport that knows no protocol, one package for each protocol, and their driver."""
