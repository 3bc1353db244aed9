"""Reports: JSON, JUnit, text, HTML, diagrams, files."""
