"""Double-entry ledger, holds and settlement."""
