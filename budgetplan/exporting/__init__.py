"""The labelled training set, as each training framework reads it."""
