"""The eye that needs no model and no network: text recognition on this machine, and plain facts about the picture."""
