-- Attempts to sign in within the current window, per account and per address (both as digests).
CREATE TABLE IF NOT EXISTS sign_in_attempts (
  subject text PRIMARY KEY,
  attempts integer NOT NULL,
  started_at timestamptz NOT NULL
);
