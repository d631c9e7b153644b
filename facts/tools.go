package facts

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/shell"
)

// A toolShape says how to read the input of one tool. Names are compared without
// case, since agents differ in it; a name that is not in the tables is read by
// its kind alone.
type toolShape struct {
	kind    ahp.ToolKind
	op      FileOp        // what it does to the paths in its input
	dialect shell.Dialect // of its command line
	tree    bool          // it acts on the whole tree below the path
	stdin   bool          // its text goes to a program that was started before
	code    string        // its text is code for this interpreter
	idle    bool          // it reads or ends a process that was started before
}

var toolShapes = map[string]toolShape{
	// Command lines.
	"bash":                   {kind: ahp.KindShell, dialect: shell.Bash},
	"powershell":             {kind: ahp.KindShell, dialect: shell.PowerShell},
	"monitor":                {kind: ahp.KindShell},
	"shell":                  {kind: ahp.KindShell},
	"local_shell":            {kind: ahp.KindShell},
	"exec_command":           {kind: ahp.KindShell},
	"shell_command":          {kind: ahp.KindShell},
	"run_shell_command":      {kind: ahp.KindShell},
	"run_in_terminal":        {kind: ahp.KindShell},
	"runterminalcommand":     {kind: ahp.KindShell},
	"run_terminal_cmd":       {kind: ahp.KindShell},
	"beforeshellexecution":   {kind: ahp.KindShell},
	"pre_run_command":        {kind: ahp.KindShell},
	"execute_bash":           {kind: ahp.KindShell, dialect: shell.Bash},
	"execute_cmd":            {kind: ahp.KindShell, dialect: shell.Cmd},
	"execute_command":        {kind: ahp.KindShell},
	"run_command":            {kind: ahp.KindShell},
	"run_commands":           {kind: ahp.KindShell},
	"start_process":          {kind: ahp.KindShell},
	"execute_shell_command":  {kind: ahp.KindShell},
	"shell_execute":          {kind: ahp.KindShell},
	"run_terminal_command":   {kind: ahp.KindShell},
	"write_bash":             {kind: ahp.KindShell, stdin: true},
	"write_powershell":       {kind: ahp.KindShell, dialect: shell.PowerShell, stdin: true},
	"write_stdin":            {kind: ahp.KindShell, stdin: true},
	"send_to_terminal":       {kind: ahp.KindShell, stdin: true},
	"interact_with_process":  {kind: ahp.KindShell, stdin: true},
	"read_bash":              {kind: ahp.KindShell, idle: true},
	"read_powershell":        {kind: ahp.KindShell, idle: true},
	"stop_bash":              {kind: ahp.KindShell, idle: true},
	"stop_powershell":        {kind: ahp.KindShell, idle: true},
	"list_bash":              {kind: ahp.KindShell, idle: true},
	"list_powershell":        {kind: ahp.KindShell, idle: true},
	"bashoutput":             {kind: ahp.KindOther, idle: true},
	"killshell":              {kind: ahp.KindOther, idle: true},
	"use_aws":                {kind: ahp.KindShell},
	"executecode":            {kind: ahp.KindShell, code: "python3"},
	"execute_code":           {kind: ahp.KindShell, code: "python3"},
	"execute_python":         {kind: ahp.KindShell, code: "python3"},
	"run_python":             {kind: ahp.KindShell, code: "python3"},
	"run_code":               {kind: ahp.KindShell, code: "python3"},
	"python":                 {kind: ahp.KindShell, code: "python3"},
	"run_javascript":         {kind: ahp.KindShell, code: "node"},
	"execute_javascript":     {kind: ahp.KindShell, code: "node"},
	"jupyter_execute_cell":   {kind: ahp.KindShell, code: "python3"},
	"execute_notebook_cell":  {kind: ahp.KindShell, code: "python3"},
	"run_notebook_cell_code": {kind: ahp.KindShell, code: "python3"},

	// Reading.
	"read":                {kind: ahp.KindFileRead, op: FileRead},
	"notebookread":        {kind: ahp.KindFileRead, op: FileRead},
	"read_file":           {kind: ahp.KindFileRead, op: FileRead},
	"readfile":            {kind: ahp.KindFileRead, op: FileRead},
	"read_files":          {kind: ahp.KindFileRead, op: FileRead},
	"read_many_files":     {kind: ahp.KindFileRead, op: FileRead},
	"read_text_file":      {kind: ahp.KindFileRead, op: FileRead},
	"read_media_file":     {kind: ahp.KindFileRead, op: FileRead},
	"readmediafile":       {kind: ahp.KindFileRead, op: FileRead},
	"read_multiple_files": {kind: ahp.KindFileRead, op: FileRead},
	"get_file_contents":   {kind: ahp.KindFileRead, op: FileRead},
	"beforereadfile":      {kind: ahp.KindFileRead, op: FileRead},
	"beforetabfileread":   {kind: ahp.KindFileRead, op: FileRead},
	"view":                {kind: ahp.KindFileRead, op: FileRead},
	"view_image":          {kind: ahp.KindFileRead, op: FileRead},
	"view_file":           {kind: ahp.KindFileRead, op: FileRead},
	"show_file":           {kind: ahp.KindFileRead, op: FileRead},
	"fs_read":             {kind: ahp.KindFileRead, op: FileRead},

	// Searching. What is found comes into the conversation, so it is a read.
	"grep":                       {kind: ahp.KindSearch, op: FileRead, tree: true},
	"rg":                         {kind: ahp.KindSearch, op: FileRead, tree: true},
	"grep_search":                {kind: ahp.KindSearch, op: FileRead, tree: true},
	"search_files":               {kind: ahp.KindSearch, op: FileRead, tree: true},
	"search_codebase":            {kind: ahp.KindSearch, op: FileRead, tree: true},
	"semantic_search":            {kind: ahp.KindSearch, op: FileRead, tree: true},
	"search_file_content":        {kind: ahp.KindSearch, op: FileRead, tree: true},
	"glob":                       {kind: ahp.KindSearch, op: FileList, tree: true},
	"file_search":                {kind: ahp.KindSearch, op: FileList, tree: true},
	"ls":                         {kind: ahp.KindSearch, op: FileList},
	"list":                       {kind: ahp.KindSearch, op: FileList},
	"list_dir":                   {kind: ahp.KindSearch, op: FileList},
	"list_directory":             {kind: ahp.KindSearch, op: FileList},
	"list_files":                 {kind: ahp.KindSearch, op: FileList},
	"directory_tree":             {kind: ahp.KindSearch, op: FileList, tree: true},
	"get_file_info":              {kind: ahp.KindSearch, op: FileList},
	"list_code_definition_names": {kind: ahp.KindSearch, op: FileRead},
	"list_directory_with_sizes":  {kind: ahp.KindSearch, op: FileList},

	// Writing.
	"write":                        {kind: ahp.KindFileWrite, op: FileWrite},
	"write_file":                   {kind: ahp.KindFileWrite, op: FileWrite},
	"writefile":                    {kind: ahp.KindFileWrite, op: FileWrite},
	"write_to_file":                {kind: ahp.KindFileWrite, op: FileWrite},
	"create":                       {kind: ahp.KindFileWrite, op: FileWrite},
	"create_file":                  {kind: ahp.KindFileWrite, op: FileWrite},
	"createfile":                   {kind: ahp.KindFileWrite, op: FileWrite},
	"create_directory":             {kind: ahp.KindFileWrite, op: FileWrite},
	"create_text_file":             {kind: ahp.KindFileWrite, op: FileWrite},
	"append_file":                  {kind: ahp.KindFileWrite, op: FileWrite},
	"append_to_file":               {kind: ahp.KindFileWrite, op: FileWrite},
	"fs_write":                     {kind: ahp.KindFileWrite, op: FileWrite},
	"delete":                       {kind: ahp.KindFileWrite, op: FileDelete},
	"delete_file":                  {kind: ahp.KindFileWrite, op: FileDelete},
	"deletefile":                   {kind: ahp.KindFileWrite, op: FileDelete},
	"remove_file":                  {kind: ahp.KindFileWrite, op: FileDelete},
	"delete_directory":             {kind: ahp.KindFileWrite, op: FileDelete, tree: true},
	"remove_directory":             {kind: ahp.KindFileWrite, op: FileDelete, tree: true},
	"move_file":                    {kind: ahp.KindFileWrite, op: FileWrite},
	"rename_file":                  {kind: ahp.KindFileWrite, op: FileWrite},
	"copy_file":                    {kind: ahp.KindFileWrite, op: FileWrite},
	"edit":                         {kind: ahp.KindFileEdit, op: FileWrite},
	"multiedit":                    {kind: ahp.KindFileEdit, op: FileWrite},
	"notebookedit":                 {kind: ahp.KindFileEdit, op: FileWrite},
	"edit_notebook_file":           {kind: ahp.KindFileEdit, op: FileWrite},
	"edit_file":                    {kind: ahp.KindFileEdit, op: FileWrite},
	"editfiles":                    {kind: ahp.KindFileEdit, op: FileWrite},
	"edit_block":                   {kind: ahp.KindFileEdit, op: FileWrite},
	"search_replace":               {kind: ahp.KindFileEdit, op: FileWrite},
	"replace":                      {kind: ahp.KindFileEdit, op: FileWrite},
	"replace_in_file":              {kind: ahp.KindFileEdit, op: FileWrite},
	"replace_string_in_file":       {kind: ahp.KindFileEdit, op: FileWrite},
	"multi_replace_string_in_file": {kind: ahp.KindFileEdit, op: FileWrite},
	"insert_edit_into_file":        {kind: ahp.KindFileEdit, op: FileWrite},
	"strreplacefile":               {kind: ahp.KindFileEdit, op: FileWrite},
	"str_replace_editor":           {kind: ahp.KindFileEdit, op: FileWrite},
	"str_replace_based_edit_tool":  {kind: ahp.KindFileEdit, op: FileWrite},
	"editor":                       {kind: ahp.KindFileEdit, op: FileWrite},
	"apply_patch":                  {kind: ahp.KindFileEdit, op: FileWrite},
	"applypatch":                   {kind: ahp.KindFileEdit, op: FileWrite},
	"patch":                        {kind: ahp.KindFileEdit, op: FileWrite},

	// The network.
	"webfetch":           {kind: ahp.KindFetch},
	"web_fetch":          {kind: ahp.KindFetch},
	"fetchurl":           {kind: ahp.KindFetch},
	"fetch":              {kind: ahp.KindFetch},
	"fetch_url":          {kind: ahp.KindFetch},
	"fetch_webpage":      {kind: ahp.KindFetch},
	"fetch_web_content":  {kind: ahp.KindFetch},
	"browser_action":     {kind: ahp.KindFetch},
	"browser_navigate":   {kind: ahp.KindFetch},
	"navigate":           {kind: ahp.KindFetch},
	"puppeteer_navigate": {kind: ahp.KindFetch},
	"http_request":       {kind: ahp.KindFetch},
	"websearch":          {kind: ahp.KindFetch},
	"web_search":         {kind: ahp.KindFetch},
	"google_web_search":  {kind: ahp.KindFetch},
	"searchweb":          {kind: ahp.KindFetch},
}

// The names of members, compared without case and without `_` and `-`.
var (
	commandKeys = keySet("command", "cmd", "commandline", "script", "commands", "argv")
	stdinKeys   = keySet("chars", "input", "text", "command", "data", "content")
	codeKeys    = keySet("code", "source", "script", "cellcontent", "javascript")
	folderKeys  = keySet("workdir", "cwd", "workingdirectory", "workingdir", "directory", "dirpath")
	pathKeys    = keySet("filepath", "path", "notebookpath", "absolutepath", "filename", "file", "targetfile", "relativeworkspacepath",
		"paths", "filepaths", "files", "uri", "directory", "dir", "dirpath", "directorypath", "searchpath", "searchdirectory",
		"targetnotebook", "relativepath", "pathname", "folder", "targetdirectory", "imagepath", "include", "outputpath", "destpath")
	// Members of a copy, a move or a rename.
	fromKeys  = keySet("source", "sourcepath", "src", "from", "oldpath")
	toKeys    = keySet("destination", "destinationpath", "dest", "dst", "to", "newpath", "target", "targetpath")
	urlKeys   = keySet("url", "uri", "urls", "href", "link", "targeturl", "pageurl", "endpoint", "baseurl", "address")
	patchKeys = keySet("patch", "input", "patchtext", "diff", "command", "content", "explanation")
	// Lists of objects that each name a file.
	nestedKeys = keySet("edits", "replacements", "operations", "changes", "files", "requests", "reads")
)

func keySet(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// plainKey returns a member name in the form of the tables.
func plainKey(k string) string {
	for i := 0; i < len(k); i++ {
		if c := k[i]; c == '_' || c == '-' || c >= 'A' && c <= 'Z' {
			b := make([]byte, 0, len(k))
			for j := 0; j < len(k); j++ {
				switch c := k[j]; {
				case c == '_', c == '-':
				case c >= 'A' && c <= 'Z':
					b = append(b, c+'a'-'A')
				default:
					b = append(b, c)
				}
			}
			return string(b)
		}
	}
	return k
}

// shapeNamed looks a name up without case.
func shapeNamed(name string) (toolShape, bool) {
	var buf [32]byte
	if len(name) > len(buf) {
		s, ok := toolShapes[strings.ToLower(name)]
		return s, ok
	}
	low := append(buf[:0], name...)
	for i, c := range low {
		switch {
		case c >= utf8.RuneSelf:
			s, ok := toolShapes[strings.ToLower(name)]
			return s, ok
		case c >= 'A' && c <= 'Z':
			low[i] = c + 'a' - 'A'
		}
	}
	s, ok := toolShapes[string(low)]
	return s, ok
}

// shapeOf finds how to read a tool. The kind that the harness gave decides what
// the tool is; the name refines how its input is read.
func shapeOf(name string, kind ahp.ToolKind) toolShape {
	s, ok := shapeNamed(name)
	if kind == ahp.KindMCP || kind == ahp.KindOther || kind == "" {
		if !ok {
			return toolShape{kind: kind}
		}
		return s
	}
	if ok && (s.kind == kind || s.kind == ahp.KindOther) {
		s.kind = kind
		return s
	}
	switch kind {
	case ahp.KindFileRead:
		return toolShape{kind: kind, op: FileRead}
	case ahp.KindFileWrite, ahp.KindFileEdit:
		if ok && (s.kind == ahp.KindFileWrite || s.kind == ahp.KindFileEdit) {
			return s
		}
		return toolShape{kind: kind, op: FileWrite}
	case ahp.KindSearch:
		return toolShape{kind: kind, op: FileRead, tree: true}
	case ahp.KindShell:
		if ok && s.kind == ahp.KindShell {
			return s
		}
	default:
	}
	return toolShape{kind: kind}
}

// splitMCP takes the server and the tool out of the names that agents make.
func splitMCP(name string) (server, tool string) {
	switch {
	case strings.HasPrefix(name, "mcp__"):
		if s, t, ok := strings.Cut(name[len("mcp__"):], "__"); ok && s != "" {
			return s, t
		}
	case strings.HasPrefix(name, "MCP:"):
		return "", name[len("MCP:"):]
	case strings.HasPrefix(name, "@"):
		if s, t, ok := strings.Cut(name[1:], "/"); ok && s != "" {
			return s, t
		}
	}
	return "", name
}

// KindOf returns the kind of a tool whose name the tables of the agents hold, and
// other for every other name: a kind is never guessed from a part of a name.
func KindOf(name string) ahp.ToolKind {
	if strings.HasPrefix(name, "mcp__") || strings.HasPrefix(name, "MCP:") || strings.HasPrefix(name, "@") && strings.Contains(name, "/") {
		return ahp.KindMCP
	}
	switch strings.ToLower(name) {
	case "task", "agent", "spawn_agent", "invoke_agent", "runsubagent", "use_subagent", "use_subagents", "delegate", "new_task":
		return ahp.KindTask
	case "use_mcp_tool", "access_mcp_resource":
		return ahp.KindMCP
	}
	if s, ok := toolShapes[strings.ToLower(name)]; ok && s.kind != "" {
		return s.kind
	}
	return ahp.KindOther
}
