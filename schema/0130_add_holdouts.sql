-- The share of people who get content that the service has not learned, to compare with: of an organization, and of a
-- template that differs from it (null: as the organization).
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS holdout jsonb NOT NULL DEFAULT '{"share": 0, "content": "even"}';
ALTER TABLE templates ADD COLUMN IF NOT EXISTS holdout jsonb;
-- The holdout in force for a decision, whichever side of it the decision is on, such as `0.05 even`; null: none.
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS holdout text;
-- Whether a choice was made for the holdout: a person who joins or leaves it does not keep the choice.
ALTER TABLE sticky_choices ADD COLUMN IF NOT EXISTS control boolean NOT NULL DEFAULT false;
