-- Reads on a replica store a mark on the primary and wait until the replica shows it.
CREATE TABLE IF NOT EXISTS read_mark (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  marked_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO read_mark DEFAULT VALUES ON CONFLICT DO NOTHING;
