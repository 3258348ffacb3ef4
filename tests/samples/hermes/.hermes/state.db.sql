CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT, parent_session_id TEXT,
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, input_tokens INTEGER DEFAULT 0,
    output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0,
    reasoning_tokens INTEGER DEFAULT 0, cwd TEXT, git_branch TEXT, title TEXT, title_source TEXT
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT, reasoning TEXT,
    active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0,
    _compressed_summary INTEGER NOT NULL DEFAULT 0, display_kind TEXT
);
CREATE TABLE session_model_usage (
    session_id TEXT NOT NULL, model TEXT NOT NULL, billing_provider TEXT NOT NULL DEFAULT '',
    task TEXT NOT NULL DEFAULT '', api_call_count INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0, cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0, reasoning_tokens INTEGER NOT NULL DEFAULT 0, last_seen REAL
);
INSERT INTO sessions VALUES ('20261101_091500_ab12', 'cli', 'claude-sonnet-5', '{}', NULL, 1793524500.0, NULL, NULL,
    130, 60, 40, 0, 6, '/home/dev/code/tidebook', 'main', 'Late tides', 'user');
INSERT INTO sessions VALUES ('20261101_091600_cd34', 'subagent', 'claude-haiku-5',
    '{"_delegate_from": "20261101_091500_ab12"}', '20261101_091500_ab12', 1793524560.0, 1793524570.0, 'completed',
    20, 5, 0, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO sessions VALUES ('20261101_100000_ef56', 'cron', 'claude-haiku-5', '{}', NULL, 1793527200.0, NULL, NULL,
    0, 0, 0, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO session_model_usage VALUES ('20261101_091500_ab12', 'claude-sonnet-5', 'anthropic', '', 3, 100, 50, 40, 0, 6,
    1793524530.5);
INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason, reasoning,
    active, compacted, _compressed_summary, display_kind) VALUES
    ('20261101_091500_ab12', 'user', 'why is high water late?', NULL, NULL, NULL, 1793524501.5, NULL, NULL, 1, 0, 0, NULL),
    ('20261101_091500_ab12', 'assistant', 'I run the tests.', NULL,
     '[{"id":"call_1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"pytest -q\"}"}}]', NULL,
     1793524510.5, 'tool_calls', 'A time zone?', 1, 0, 0, NULL),
    ('20261101_091500_ab12', 'tool', '{"output": "1 failed", "exit_code": 1, "error": null}', 'call_1', NULL, 'terminal',
     1793524512.5, NULL, NULL, 1, 0, 0, NULL),
    ('20261101_091500_ab12', 'assistant', '', NULL,
     '[{"id":"call_2","type":"function","function":{"name":"delegate_task","arguments":"{\"prompt\":\"list the zones\"}"}}]',
     NULL, 1793524520.5, 'tool_calls', NULL, 1, 0, 0, NULL),
    ('20261101_091500_ab12', 'tool', '{"output": "UTC"}', 'call_2', NULL, 'delegate_task', 1793524575.5, NULL, NULL, 1, 0, 0,
     NULL),
    ('20261101_091500_ab12', 'user', 'stay on the topic of tides', NULL, NULL, NULL, 1793524576.5, NULL, NULL, 1, 0, 0,
     'hidden'),
    ('20261101_091500_ab12', 'assistant', 'Winter time is right now.', NULL, NULL, NULL, 1793524580.5, 'stop', NULL, 1, 0, 0,
     NULL),
    ('20261101_091600_cd34', 'user', 'list the zones', NULL, NULL, NULL, 1793524561.5, NULL, NULL, 1, 0, 0, NULL),
    ('20261101_091600_cd34', 'assistant', 'There is only UTC.', NULL, NULL, NULL, 1793524569.5, 'stop', NULL, 1, 0, 0, NULL),
    ('20261101_100000_ef56', 'user', 'write the tide report', NULL, NULL, NULL, 1793527201.5, NULL, NULL, 1, 0, 0, NULL),
    ('20261101_100000_ef56', 'assistant', 'High water at ten.', NULL, NULL, NULL, 1793527205.5, 'stop', NULL, 1, 0, 0, NULL);
