// Tools of responses as flat functions, for models that only know those: namespaces become part of the name, and tools
// of other types functions of the same purpose. A call must come back with exactly the name, the namespace and the type
// that the caller gave the tool.

/** A tool as the model behind a bridge sees it: a function of this name. */
export interface FlatTool {
  /** Unique among the tools of the request; at most 64 characters of `A-Z a-z 0-9 _ -`. */
  flatName: string
  description: string | undefined
  /** JSON schema of the arguments. */
  parameters: Record<string, unknown>
  /** True only if the caller asked for it. */
  strict: boolean
  /** The caller's own tool. */
  origin: ToolOrigin
}

export interface ToolOrigin {
  kind: 'function' | 'custom' | 'tool_search' | 'local_shell' | 'shell' | 'apply_patch'
  name: string
  namespace?: string
}

/** The only member of the arguments of a custom tool: its raw text. */
export const CUSTOM_INPUT = 'input'
