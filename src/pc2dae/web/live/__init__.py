"""The live view: connection, alarms, recording, replay."""
