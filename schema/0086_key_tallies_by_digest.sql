-- An index row holds at most 2,704 bytes. A segment above 1,000 bytes is keyed by a digest: `segment` is then `sha256:` and the
-- SHA-256 of the text (base64url), and `segment_text` the text itself. NULL while `segment` is the text.
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS segment_text text;
