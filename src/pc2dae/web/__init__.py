"""The ground station: a web page to upload, view, compare and download flights, and a live view (`pc2dae serve`)."""
