"""All cases as pytest tests, for other repositories: `pytest --pyargs scapy_tfo.conformance`."""
