// Wrong traits that the recorded rules do not find, by the reason; and patterns that no swept model meets. Each must be so: where a
// rule is recorded that finds one, or a model is swept, its line here has to go.

/** Patterns of wrong traits, written `<pattern>: <trait> <what is wrong>`, by the reason why no rule finds them. */
export const unfound: Readonly<Record<string, readonly RegExp[]>> = {
  'Less is sent, or it is refused here: the vendor accepts less.': [
    /fforts without (?!none)/,
    /^(?:gpt-5\.1|grok-4\.3): efforts without none/,
    / (?:unless_thinking|unnamed) to never$/,
    / unless_minimal to false$/,
  ],
  'No refusal is on record.': [
    /^claude-opus-4-6: efforts with xhigh/,
    /^(?:grok-4\.[35]|deepseek|kimi-k3|glm).*: efforts with /,
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
    /^(?:gpt-5|gpt-6-astra\*|gemini-2\.5-pro|grok-4(?:\.5)?|glm-5\.3\*): thinking always/,
    /^kimi-k3\*: thinking always to optional/,
  ],
  'Its efforts and the fields that it refuses are traits of their own.': [
    /^(?:gpt-5\.1|grok-4\.3): thinking optional to never/,
  ],
  'It accepts both forms of thinking as callers write them.': [
    /^claude-opus-4-6: thinking optional to never/,
    /^claude-opus-4-6: thinkingForms without/,
  ],
  'What it decides is accepted both ways, or refused here both ways.': [
    /^(?!gpt-6\*|qwen|deepseek|kimi-k2).*: thinksByDefault/,
  ],
  'The protocol has no such form of thinking.': [
    /^claude.*: thinkingForms with (?:effort|switch|enable_thinking)/,
    /^(?:deepseek|kimi).*: thinkingForms with (?:adaptive|budget)/,
  ],
  'It always thinks, so that this is never.': [
    /^(?:claude-(?:opus|sonnet)-5-5|kimi-k3\*|glm-5\.3\*): \w+ (?:never|unnamed) to unless_thinking/,
  ],
  'It accepts sampling while it does not think.': [/^gpt-5\.[12]: sampling never to unless_thinking/],
  'The protocol that it is swept over has no such field.': [
    /^claude-(?:opus|sonnet)-5-5: (?:logitBias|logprobs|speech)/,
    /^gpt-6-astra\*: (?:stop|penalties|logitBias|speech|prediction|maxTokens|toolsBesideEffort)/,
  ],
  'Its kind of upstream leaves these fields out for every model.': [/^(?:gemini|grok).*: penalties/],
}

/** Patterns with traits, by their first names, that no swept model meets. */
export const unswept: readonly string[] = [
  'claude-fable-5',
  'claude-opus-4-5',
  'claude-sonnet-4',
  'claude-opus-4',
  'claude-3-7-sonnet',
  'claude-*',
  'gpt-5.5',
  'gpt-5.1-chat*',
  'gpt-5.1-codex-max',
  'gpt-5-pro',
  'o1',
  'kimi-k2.7-code*',
  'glm-4.7',
  'grok-4.6',
  'grok-3-mini*',
  'grok-4.20-non-reasoning*',
  'gemini-2.5-flash*',
]
