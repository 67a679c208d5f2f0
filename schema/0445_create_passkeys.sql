-- Passkeys of accounts (WebAuthn). Their owner registers, renames and removes them; a reset of second factors removes them too.
CREATE TABLE IF NOT EXISTS passkeys (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- Chosen by the owner, up to 100 characters.
  name text NOT NULL,
  -- Domain of the service at the registration. A browser offers the passkey on this domain only.
  rp_id text NOT NULL,
  -- Id of the authenticator for this passkey, up to 1,023 bytes in base64url.
  credential_id text NOT NULL,
  -- COSE key in base64url.
  public_key text NOT NULL,
  -- Signature counter after the last use. Stays 0 if the authenticator has no counter.
  counter bigint NOT NULL,
  -- Ways to reach the authenticator, such as `internal` or `usb`, as the browser reported them.
  transports text[] NOT NULL,
  -- Whether the authenticator may copy the passkey to other devices of its owner.
  synced boolean NOT NULL,
  created_at timestamptz NOT NULL,
  -- Null until the first sign-in with the passkey.
  last_used_at timestamptz
);
CREATE UNIQUE INDEX IF NOT EXISTS passkeys_by_credential ON passkeys (credential_id);
CREATE INDEX IF NOT EXISTS passkeys_by_account ON passkeys (account_id);

-- Recovery codes belong to the account, because an account with passkeys needs no authenticator app.
ALTER TABLE recovery_codes DROP CONSTRAINT IF EXISTS recovery_codes_account_id_fkey;
ALTER TABLE recovery_codes ADD CONSTRAINT recovery_codes_account_id_fkey
  FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE;
