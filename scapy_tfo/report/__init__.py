"""Reports of a run: JSON, JUnit, text, HTML, sequence diagrams."""
