-- The oldest schema version whose releases work with these tables: a migration that only adds leaves it as it is, one that
-- takes something away raises it, so that nodes of a release that misses it do not start.
CREATE TABLE IF NOT EXISTS schema_compatibility (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  works_from integer NOT NULL
);
INSERT INTO schema_compatibility (works_from) VALUES (0) ON CONFLICT DO NOTHING;
