"""A folder of images through the queue: list, submit, write, and keep a manifest; `pixlane batch` shows it to a person."""
