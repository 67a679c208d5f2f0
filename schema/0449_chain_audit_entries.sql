-- Makes a removed or changed entry of the audit log visible: each entry has a hash over its content and the hash before it.
ALTER TABLE audit_entries
  -- Place in the chain of its organization and log, from 1. NULL until the entry is final and sealed.
  ADD COLUMN IF NOT EXISTS seq bigint,
  -- SHA-256 in hexadecimal digits over the entry and the hash of the entry before it. NULL until it is sealed.
  ADD COLUMN IF NOT EXISTS hash text;
CREATE UNIQUE INDEX IF NOT EXISTS audit_entries_changes_chain_idx ON audit_entries (org_slug, seq) WHERE refusal IS NULL;
CREATE UNIQUE INDEX IF NOT EXISTS audit_entries_refusals_chain_idx ON audit_entries (org_slug, seq)
  WHERE refusal IS NOT NULL;
CREATE INDEX IF NOT EXISTS audit_entries_unsealed_idx ON audit_entries (id) WHERE seq IS NULL;
-- The ends of each chain. A transaction that continues a chain locks its row.
CREATE TABLE IF NOT EXISTS audit_chains (
  -- Empty for the installation.
  org_slug text NOT NULL,
  -- `changes`, or `refusals`, which are kept for a shorter time.
  log text NOT NULL,
  -- The latest entry. 0 without one.
  seq bigint NOT NULL,
  hash text NOT NULL,
  -- The latest entry that was deleted at the end of its retention. 0 without one.
  anchor_seq bigint NOT NULL,
  anchor_hash text NOT NULL,
  -- When the first remaining entry was made. NULL without one.
  first_at timestamptz,
  PRIMARY KEY (org_slug, log)
);
