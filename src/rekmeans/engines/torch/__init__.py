"""The torch engine: mapped rows on a card or any device of torch's, passes in Triton or in plain operations."""
