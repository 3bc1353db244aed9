"""What a run found, written down: JSON, JUnit, text, HTML, sequence diagrams."""
