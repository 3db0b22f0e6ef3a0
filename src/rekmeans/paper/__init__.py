"""The paper again: its data sets, features, tables and figures beside what was printed."""
