"use strict";
// What signals are called where a person reads them, and in which order they matter.
(function () {
  const NAMES = {
    command_count: "Commands", web_search_count: "Web searches", user_message_count: "Your messages", assistant_message_count: "Agent's texts", compaction_count: "Compactions", file_edit_count: "Edits", unique_files_edited: "Files edited", unique_files_read: "Files read", subagent_count: "Sub-agents", session_duration_seconds: "Duration", active_seconds: "Active time", time_to_first_edit_seconds: "Time to first edit", user_correction_count: "Your corrections",
    tokens: "Tokens", input_tokens: "New input", cache_write_tokens: "Cache writes", cache_read_tokens: "Cache reads", output_tokens: "Output", reasoning_tokens: "Reasoning", request_count: "Requests", cost: "Cost",
    step_count: "Steps", phase_count: "Phases", transition_count: "Changes of step", exploration_ratio: "Share of looking", exploitation_ratio: "Share of changing", sequence_entropy: "Variety of steps", repetition_consecutive: "Same action twice", repetition_runs: "Runs of one action", repetition_4gram: "Repeated sequences", repeated_action_without_progress: "Going in circles",
    failed_command_count: "Failed commands", failed_command_ratio: "Share of failed commands", tests_run_count: "Test runs", last_test_outcome: "Last test run", git_commits_made_during: "Commits", user_satisfaction_lexical: "Your mood", interrupted_signal: "Interrupted", fix_without_validation_count: "Unchecked edits", fix_validation_latency_steps: "Steps until a check", premature_finish_without_validation: "Ended unchecked", test_fix_loop_count: "Test and fix loops", failed_result_recovery_steps: "Steps until recovery", failure_ignored_count: "Failures ignored", error_to_search_or_edit_ratio: "Failures acted upon",
    unknown_event_count: "Unknown records", events_without_timestamps: "Events without a time", secret_exposure_count: "Secrets masked", injection_marker_count: "Injection marks", secret_exposure_signal: "A secret stood in it", capture_gap_signal: "Gaps in capture", agent_confirmation_count: "Agent confirms", agent_doubt_count: "Agent doubts", outcome_probability: "Chance of success", outcome: "Outcome",
  };
  const CATEGORIES = {
    explore: ["Reading", "reads files, lists folders, looks at version control and the machine"], locate: ["Searching the code", "looks for files, or for words in them"], search: ["Searching the web", "searches the web, fetches pages"], reproduce: ["Running the program", "runs a program of the project"], fix: ["Editing", "changes files"], test: ["Checking", "runs tests, linters, type checkers or a build"], refactor: ["Tidying", "formats, moves or copies files"], explain: ["Explaining", "prose of the agent"], permission: ["Permissions", "a permission that the log tells of"], error: ["Failed requests", "a model request that failed"], other: ["Other steps", "installing, committing, containers, sub-agents, unknown tools"],
  };
  const GROUPS = [["outcome", "Outcome"], ["risk", "Risk"], ["cost", "Cost"], ["activity", "Activity"]];
  const parts = (name) => /^action_(count|ratio)_(\w+)$/.exec(name);

  retro.label = (name) => {
    const step = parts(name);
    if (step && CATEGORIES[step[2]]) return CATEGORIES[step[2]][0] + (step[1] === "ratio" ? ", share of steps" : "");
    return NAMES[name] || retro.capital(retro.words(name));
  };
  retro.explained = (one) => {
    const step = parts(one.name);
    return retro.capital(step && CATEGORIES[step[2]] ? CATEGORIES[step[2]][1] : one.description || "");
  };
  // Categories of steps are told together: how many, and which share.
  retro.category = (name) => { const step = parts(name); return step ? { kind: step[1], name: step[2] } : null; };
  retro.groups = (names) => [...GROUPS.filter(([key]) => names.has(key)), ...[...names].filter((key) => !GROUPS.some(([known]) => known === key)).map((key) => [key, retro.capital(key || "others")])];
})();
