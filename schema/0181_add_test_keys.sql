-- 'live' or 'test'. Decisions, events and messages of test keys are kept under the sandbox of their organization.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS kind text NOT NULL DEFAULT 'live';
-- The sandbox of an organization is a row of its own, `SLUG~test`, with the same settings. No list of organizations has it.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS sandbox_of text REFERENCES organizations (slug);
CREATE UNIQUE INDEX IF NOT EXISTS organizations_sandbox_of_idx ON organizations (sandbox_of) WHERE sandbox_of IS NOT NULL;
