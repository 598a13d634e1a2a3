// Wrong traits that the recorded rules do not find, by the reason. Each must be so: where a rule is recorded that finds one, its line
// here has to go.

/** Patterns of wrong traits, written `<pattern>: <trait> <what is wrong>`, by the reason why no rule finds them. */
export const unfound: Readonly<Record<string, readonly RegExp[]>> = {
  'Less is sent, or it is refused here: the vendor accepts less.': [
    /fforts without (?!none)/,
    /^(?:gpt-5\.1|grok-4\.3|gemini-2\.5-flash\*): efforts without none/,
    / (?:unless_thinking|any_tool) to never$/,
    /: forcedToolChoice always to /,
    / unless_minimal to false$/,
  ],
  'No refusal is on record.': [
    /^claude-opus-4-(?:5|6): efforts with (?:xhigh|max)/,
    /^claude-(?:opus-4|sonnet-4|3-7-sonnet): efforts with (?!none|minimal)/,
    /^claude-(?:sonnet-4|3-7-sonnet): bothSampling/,
    /^gpt-5\.1-chat\*: (?!thinksByDefault|efforts)/,
    /^(?:o1|grok-4\.[356]|deepseek|kimi-k3|glm).*: efforts with /,
    /^glm-4\.7: thinking(?: optional to never|Forms with)/,
    /^gemini.*: efforts with (?:xhigh|max)/,
    /^kimi.*: penalties/,
  ],
  "Anthropic's SDK has no such word (output_config_param.py), but no refusal of it is on record.": [
    /^claude.*: (?:efforts|offEfforts) with none/,
    /^claude-(?!haiku-4-5).*: (?:efforts|offEfforts) with minimal/,
  ],
  'It is then never turned off, which no vendor refuses.': [
    /^(?!claude-haiku-4-5).*: thinking optional to always/,
  ],
  'Without an effort `none` nothing turns it off, whatever this says.': [
    /^(?:o1|gpt-5(?:-pro|\.2-pro|\.[12]-codex(?:-max)?)?|gemini-2\.5-pro|grok-(?:3-mini\*|4(?:\.[56])?)|glm-5\.3\*): thinking always/,
    /^kimi-k3\*: thinking always to optional/,
    /^kimi-k2\.7-code\*: thinkingForms with (?:effort|enable_thinking)/,
  ],
  'Its efforts and the fields that it refuses are traits of their own.': [
    /^(?:gpt-5\.1|grok-4\.3|gemini-2\.5-flash\*): thinking optional to never/,
  ],
  'It accepts both forms of thinking as callers write them.': [
    /^claude-opus-4-6: thinking optional to never/,
    /^claude-opus-4-6: thinkingForms without/,
  ],
  'What it decides is accepted both ways, or refused here both ways.': [
    /^(?!gpt-6\*|gpt-5\.5|qwen|deepseek|kimi-k2\.5).*: thinksByDefault/,
  ],
  'The protocol has no such form of thinking.': [
    /^claude.*: thinkingForms with (?:effort|switch|enable_thinking)/,
    /^(?:deepseek|kimi).*: thinkingForms with (?:adaptive|budget)/,
  ],
  'It always thinks, so that this is never.': [
    /^(?:claude-(?:(?:opus|sonnet)-5-5|fable-5)|kimi-k(?:3|2\.7-code)\*|glm-5\.3\*|o1): \w+ (?:never|any_tool) to unless_thinking/,
  ],
  'It accepts sampling while it does not think.': [/^gpt-5\.[125]: sampling never to unless_thinking/],
  'The protocol that it is swept over has no such field.': [
    /^claude-(?:(?:opus|sonnet)-5-5|fable-5): (?:logitBias|logprobs|speech)/,
    /^gpt-5(?:-pro|\.2-pro|\.[12]-codex(?:-max)?): (?:stop|penalties|logitBias|speech|prediction|maxTokens|toolsBesideEffort)/,
  ],
  'Its kind of upstream leaves these fields out for every model.': [/^(?:gemini|grok).*: penalties/],
}
