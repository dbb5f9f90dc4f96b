"""Classical denoisers: `FILTERS` by name, each implementing the protocol of `pc2dae.denoiser`."""

from pc2dae.filters.catalogue import FILTERS, clipped, oracle

__all__ = ["FILTERS", "clipped", "oracle"]
