-- Lists, groups, channels and types of messages whose opt-outs count for all e-mail of an organization. Until now every opt-out
-- of a group suppressed its address: existing organizations keep that until they list their groups.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS group_opt_outs text[] NOT NULL DEFAULT '{*}';
ALTER TABLE organizations ALTER COLUMN group_opt_outs SET DEFAULT '{}';
-- The group that an opt-out or opt-in concerns. Null: all messages.
ALTER TABLE events ADD COLUMN IF NOT EXISTS opt_out_group text;
