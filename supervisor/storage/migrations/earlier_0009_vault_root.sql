-- A session remembers the vault it was made in, also on another machine.

ALTER TABLE sessions ADD COLUMN vault_root TEXT;
