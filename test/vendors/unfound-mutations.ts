// Wrong traits that the recorded rules do not find, by reason. The list must stay exact: if a new rule finds one of
// them, its line here must be removed.

/** Patterns of wrong traits, as `<pattern>: <trait> <fault>`, by the reason that no rule finds them. */
export const unfound: Readonly<Record<string, readonly RegExp[]>> = {
  'The gateway sends less or refuses the request; the vendor accepts less.': [
    /fforts without (?!none)/,
    /^(?:gpt-5\.1|grok-4\.3|gemini-2\.5-flash\*): efforts without none/,
    / (?:unless_thinking|any_tool) to never$/,
    /: forcedToolChoice always to /,
    / unless_minimal to false$/,
  ],
  'No refusal is recorded.': [
    /^claude-opus-4-(?:5|6): efforts with (?:xhigh|max)/,
    /^claude-(?:opus-4|sonnet-4|3-7-sonnet): efforts with (?!none|minimal)/,
    /^claude-(?:sonnet-4|3-7-sonnet): bothSampling/,
    /^gpt-5\.1-chat\*: (?!thinksByDefault|efforts)/,
    /^(?:o1|grok-4\.[356]|deepseek|kimi-k3|glm).*: efforts with /,
    /^glm-4\.7: thinking(?: optional to never|Forms with)/,
    /^gemini.*: efforts with (?:xhigh|max)/,
    /^kimi.*: penalties/,
  ],
  "Anthropic's SDK does not have this word (output_config_param.py), but no refusal of it is recorded.": [
    /^claude.*: (?:efforts|offEfforts) with none/,
    /^claude-(?!haiku-4-5).*: (?:efforts|offEfforts) with minimal/,
  ],
  'Thinking is then never turned off, which no vendor refuses.': [
    /^(?!claude-haiku-4-5).*: thinking optional to always/,
  ],
  'Without an effort `none`, nothing turns thinking off, whatever this trait says.': [
    /^(?:o1|gpt-5(?:-pro|\.2-pro|\.[12]-codex(?:-max)?)?|gemini-2\.5-pro|grok-(?:3-mini\*|4(?:\.[56])?)|glm-5\.3\*): thinking always/,
    /^kimi-k3\*: thinking always to optional/,
    /^kimi-k2\.7-code\*: thinkingForms with (?:effort|enable_thinking)/,
  ],
  'The model’s efforts and refused fields are separate traits.': [
    /^(?:gpt-5\.1|grok-4\.3|gemini-2\.5-flash\*): thinking optional to never/,
  ],
  'The model accepts both forms of thinking that callers use.': [
    /^claude-opus-4-6: thinking optional to never/,
    /^claude-opus-4-6: thinkingForms without/,
  ],
  'The vendor accepts the request, or the gateway refuses it, whatever this trait says.': [
    /^(?!gpt-6\*|gpt-5\.5|qwen|deepseek|kimi-k2\.5).*: thinksByDefault/,
  ],
  'The protocol does not have this form of thinking.': [
    /^claude.*: thinkingForms with (?:effort|switch|enable_thinking)/,
    /^(?:deepseek|kimi).*: thinkingForms with (?:adaptive|budget)/,
  ],
  'The model always thinks, so this case never occurs.': [
    /^(?:claude-(?:(?:opus|sonnet)-5-5|fable-5)|kimi-k(?:3|2\.7-code)\*|glm-5\.3\*|o1): \w+ (?:never|any_tool) to unless_thinking/,
  ],
  'The model accepts sampling while it does not think.': [/^gpt-5\.[125]: sampling never to unless_thinking/],
  'The sweep uses a protocol that does not have this field.': [
    /^claude-(?:(?:opus|sonnet)-5-5|fable-5): (?:logitBias|logprobs|speech)/,
    /^gpt-5(?:-pro|\.2-pro|\.[12]-codex(?:-max)?): (?:stop|penalties|logitBias|speech|prediction|maxTokens|toolsBesideEffort)/,
  ],
  'This kind of upstream omits these fields for every model.': [/^(?:gemini|grok).*: penalties/],
}
