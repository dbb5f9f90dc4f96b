"""Classical denoisers: `FILTERS` by name, each with the denoiser protocol of `pc2dae.denoiser`."""

from pc2dae.filters.catalogue import FILTERS, clipped, oracle

__all__ = ["FILTERS", "clipped", "oracle"]
