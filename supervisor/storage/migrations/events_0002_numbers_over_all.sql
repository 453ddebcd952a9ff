-- Events of all sessions in one order: the number of an event's row, never given twice. And up to
-- which of these numbers events may have been pruned.

ALTER TABLE event_totals ADD COLUMN last_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event_totals ADD COLUMN pruned_number INTEGER NOT NULL DEFAULT 0;

UPDATE event_totals SET last_number = (SELECT coalesce(max(rowid), 0) FROM events);
