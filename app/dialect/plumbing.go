package dialect

import "strings"

// Plumbing reports whether a span shows an agent's own machinery: a database statement, a state transform, a plugin
// hook, a probe for a file, a frame of a stream. Nobody who reads a trail looks for those, and an agent sends hundreds
// of them for each tool call.
//
// scope is the name of the span's instrumentation scope. Every agent in the table calls its service the same, so a
// stored row, which has no scope, is asked about by its service name. What usually stands above a model's call or a
// tool is not in the table, also where it is machinery: it may arrive in a later request than what is below it.
func Plumbing(scope, name string) bool {
	switch {
	case scope == "opencode":
		return names(name).in(openCode)
	case strings.HasPrefix(scope, "codex"): // codex_exec, codex_cli_rs, codex_vscode
		return names(name).in(codex)
	case scope == "qwen-code":
		return name == "qwen-code.hook"
	}
	return false
}

// names is a span's name; a table lists it whole or, with a dot at the end, everything below a prefix of it.
type names string

func (n names) in(table map[string]struct{}) bool {
	if _, ok := table[string(n)]; ok {
		return true
	}
	family, _, ok := strings.Cut(string(n), ".")
	if !ok {
		return false
	}
	_, ok = table[family+"."]
	return ok
}

func table(list ...string) map[string]struct{} {
	m := make(map[string]struct{}, len(list))
	for _, name := range list {
		m[name] = struct{}{}
	}
	return m
}

var openCode = table(
	// storage
	"sql.", "SQLiteDrizzle.", "Session.", "MessageV2.", "SessionStatus.", "SessionSummary.", "SessionRevert.",
	"SessionShare.", "ShareNext.", "Snapshot.",
	// state of the process and of the project
	"State.", "InstanceStore.", "InstanceBootstrap", "InstanceBootstrap.", "Project.", "ProjectCopy.",
	"ProjectDirectories.", "Vcs.", "Git.", "LSP.", "Format.", "SessionRunState.state", "SessionRunState.runner",
	// plugins, settings, credentials
	"Plugin.", "PluginHost.", "PluginInternal.", "OpencodePlugin.", "AISDK.", "Integration.", "Config.", "ConfigPaths.",
	"ConfigHttpApi.", "Env.", "Auth.", "Credential.", "AccountRepo.", "Policy.", "Permission.state",
	// files
	"FileSystem.", "EffectFlock.",
	// what a prompt is put together from
	"Agent.", "Skill.", "Provider.", "CatalogV2.", "ModelsDev.", "MCP.", "ToolRegistry.", "Instruction.", "Reference.",
	"SystemPrompt.", "SystemContextRegistry.", "SessionReminders.", "LLMRequestPrep.", "Truncate.",
	"SessionPrompt.ops", "SessionPrompt.getModel", "SessionPrompt.resolveUserPart",
	// bookkeeping around a call
	"EventHttpApi.", "SessionProcessor.create", "SessionProcessor.cleanup", "SessionProcessor.readToolCall",
	"SessionProcessor.ensureToolCall", "SessionProcessor.updateToolCall", "SessionProcessor.settleToolCall",
	"SessionProcessor.completeToolCall", "SessionCompaction.isOverflow", "ShellTool.parse", "ShellTool.shellEnv",
)

var codex = table(
	// files and storage
	"fs.", "append_items", "persist_rollout_items", "session.flush_rollout", "record_conversation_items",
	"send_raw_response_items", "record_context_updates_and_set_reference_context_item",
	// frames of a response
	"receiving", "handle_responses", "flush_assistant_text_segments_all", "flush_assistant_text_segments_for_item",
	"realtime_conversation.",
	// settings, credentials, plugins, skills
	"auth", "load", "load_with_cli_overrides", "get_model_info", "list_models", "get_default_model", "plugins_for_config",
	"recommended_plugins_mode_for_config", "recommended_plugin_candidates_for_config", "load_plugins_from_layer_stack",
	"skills_for_config", "skills.", "render_available_skills", "build_skill_outcome", "load_skill_prompts",
	"collect_explicit_skill_mentions", "build_skills_and_plugins", "merge_connector_selection",
	// start of a session and of a turn
	"session_init", "session_init.", "app_server.", "environments.", "exec_server.", "capability_roots.", "world_state.",
	"agents_md.", "instructions.", "turn_context.", "step_context.", "shell_snapshot", "emit_turn_start_lifecycle",
	"set_previous_turn_settings", "turn_diff_display_roots", "capture_binding_with_metadata",
	"consume_startup_prewarm_for_regular_turn", "track_turn_resolved_config_analytics",
	// the table of tools
	"mcp.", "add_shell_tools", "add_mcp_resource_tools", "add_core_utility_tools", "add_collaboration_tools",
	"add_core_tool_sources", "append_mcp_tools", "append_dynamic_tool_runtimes", "extension_tool_executors",
	"hosted_model_tool_specs", "merge_into_namespaces", "build_model_visible_specs", "build_tool_router",
	"finalize_tool_router", "built_tools", "build_tool_call", "build_prompt", "build_extension_turn_input_items",
	"run_turn.", "run_hooks_and_record_inputs", "run_pending_session_start_hooks", "run_turn_stop_hooks",
	"run_session_end_hooks", "run_legacy_after_agent_hook",
)
