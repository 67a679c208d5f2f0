-- Sessions, by the SHA-256 of the token in the cookie.
CREATE TABLE IF NOT EXISTS sessions (
  id text PRIMARY KEY,
  digest text NOT NULL UNIQUE,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  user_agent text NOT NULL,
  address text NOT NULL,
  created_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS sessions_account_id_idx ON sessions (account_id);
