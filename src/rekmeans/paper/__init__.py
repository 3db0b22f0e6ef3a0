"""The paper of Lin & Chen again: its data sets, every table and figure beside the printed values, its errata."""
