// The table of each field of generateContent, for models that speak another protocol. The documentation and the check of requests are
// made from it. A top-level field, a part or a tool that it does not name is refused. Google reads each name in two spellings: one
// row covers both. Data only. https://ai.google.dev/api/generate-content.

import { bridgedFields, type FieldRule } from '../../../contract/family'
import { type DialectField, meanings } from '../../conversation/concepts'
import { serviceTier } from '../../surcharges'
import { addresses } from '../../vendor-state'
import { spellings } from './body'

const CONFIG = 'generationConfig'
/** Values of a tier that mean the standard one. */
export const PLAIN_TIERS = /^(?:service_tier_)?(?:unspecified|standard)$/i
const OTHER_TOOL = 'this model calls only functions of the caller and runs no tools itself'

const rows: readonly DialectField[] = [
  ...meanings(
    ['model', 'model', undefined, 'from the address'],
    ['systemInstruction', 'instructions'],
    ['contents[].parts[].text', 'text'],
    ['contents[].parts[].functionCall', 'call'],
    ['contents[].parts[].functionResponse', 'result'],
    ['contents[].parts[].thoughtSignature', 'sealed_reasoning'],
    ['contents[].parts[].thought', 'shown_reasoning'],
    ['tools[].functionDeclarations', 'functions'],
    ['toolConfig.functionCallingConfig', 'choice'],
    ['toolConfig.functionCallingConfig.allowedFunctionNames', 'allowed_tools'],
    [`${CONFIG}.maxOutputTokens`, 'limit'],
    [`${CONFIG}.temperature`, 'temperature'],
    [`${CONFIG}.topP`, 'top_p'],
    [`${CONFIG}.topK`, 'top_k'],
    [`${CONFIG}.stopSequences`, 'stop', ['[]']],
    [`${CONFIG}.candidateCount`, 'candidates'],
    [`${CONFIG}.seed`, 'seed'],
    [`${CONFIG}.frequencyPenalty`, 'penalties'],
    [`${CONFIG}.presencePenalty`, 'penalties'],
    [`${CONFIG}.responseSchema`, 'format', undefined, 'as a JSON schema'],
    [`${CONFIG}.responseJsonSchema`, 'format'],
    [`${CONFIG}.thinkingConfig.thinkingLevel`, 'effort'],
    [`${CONFIG}.thinkingConfig.thinkingBudget`, 'budget'],
    [`${CONFIG}.thinkingConfig.includeThoughts`, 'shows_thinking'],
    [`${CONFIG}.responseLogprobs`, 'logprobs', [false]],
    [`${CONFIG}.logprobs`, 'logprobs', [0]],
    ['serviceTier', 'service_tier', PLAIN_TIERS],
  ),
  ...bridgedFields(
    'translated',
    ['stream', 'true for `:streamGenerateContent`'],
    ['contents', 'the turns; consecutive contents of one role are merged'],
    [
      'contents[].parts[].inlineData',
      'a picture, audio, video or document, depending on its `mimeType`, as a data URL',
    ],
    ['contents[].parts[].fileData', 'the same by URL; files stored at Google are refused'],
  ),
  ...bridgedFields(
    'ignored',
    ['safetySettings', 'thresholds of a filter of another vendor'],
    ['labels', 'labels for the bills of another vendor'],
    [`${CONFIG}.mediaResolution`, 'the resolution at which another vendor reads pictures'],
    [`${CONFIG}.enableEnhancedCivicAnswers`, 'a setting for the vendor of another model'],
    [`${CONFIG}.enableAffectiveDialog`, 'a setting for the vendor of another model'],
    [`${CONFIG}.audioTimestamp`, 'a setting for the vendor of another model'],
    [`${CONFIG}.imageConfig`, 'it affects only pictures in answers, and this model answers in text'],
    ['contents[].parts[].mediaResolution', 'the resolution at which another vendor reads pictures'],
    ['contents[].parts[].partMetadata', 'a note of the caller'],
    ['store', 'what another vendor logs'],
    [`${CONFIG}.speechConfig`, 'it affects only spoken answers, and this model answers in text'],
    ['toolConfig.includeServerSideToolInvocations', 'it affects only tools that another vendor runs'],
    ['toolConfig.retrievalConfig', 'it affects only searches that another vendor runs'],
  ),
  ...bridgedFields(
    'refused',
    ['cachedContent', "it names content stored in the vendor's account; send the contents"],
    ['continuationToken', "it names an earlier answer in the vendor's account"],
    ['contents[].parts[].videoMetadata', 'this model always reads whole videos'],
    ['contents[].parts[].mediaProcessing', 'this model reads files as they are'],
    ['contents[].parts[].speechMetadata', 'this model does not read speech metadata'],
    ['contents[].parts[].audioTranscription', 'send it as text'],
    ['contents[].parts[].toolCall', 'a tool that another vendor runs'],
    ['contents[].parts[].toolResponse', 'a tool that another vendor runs'],
    [`${CONFIG}.responseFormat`, 'use `responseMimeType` and `responseJsonSchema`'],
    [`${CONFIG}.routingConfig`, 'it names other models; name one, or ask for a configured route'],
    [`${CONFIG}.modelConfig`, 'it names other models; name one, or ask for a configured route'],
    [`${CONFIG}.modelSelectionConfig`, 'it names other models; name one, or ask for a configured route'],
    [`${CONFIG}.audioTranscriptionConfig`, 'this model does not return transcripts of audio'],
    [`${CONFIG}.translationConfig`, 'this model translates only if the text asks for it'],
    ['contents[].parts[].executableCode', 'code that another vendor runs'],
    ['contents[].parts[].codeExecutionResult', 'code that another vendor runs'],
    [`${CONFIG}.responseModalities[]`, 'this model answers in text', ['TEXT', 'text', 'Text']],
    ...[
      'googleSearch',
      'googleSearchRetrieval',
      'codeExecution',
      'urlContext',
      'googleMaps',
      'fileSearch',
      'computerUse',
      'retrieval',
      'enterpriseWebSearch',
      'mcpServers',
      'parallelAiSearch',
      'exaAiSearch',
    ].map((name): [string, string] => [`tools[].${name}`, OTHER_TOOL]),
    [`${CONFIG}.responseMimeType`, 'answers are text or JSON', ['text/plain', 'application/json']],
  ),
]

export const geminiDialectFields: readonly DialectField[] = rows.flatMap((row) =>
  spellings(row.field).map((field) => ({ ...row, field })),
)

/** A tier, if it is sent. */
export const tierRules: readonly FieldRule[] = spellings('serviceTier').map((field) => ({
  ...serviceTier,
  field,
  plain: PLAIN_TIERS,
}))

/** Rules for translated fields that cost more, or refer to property of others. */
export const geminiRules: readonly FieldRule[] = [
  ...addresses(...spellings('contents[].parts[].fileData.fileUri')),
  ...soundIn('contents[].parts[].inlineData', 'contents[].parts[].fileData'),
]

/** Rules for files of the given parts, by media type: audio has its own price. */
export function soundIn(...files: readonly string[]): FieldRule[] {
  return files
    .flatMap((file) => spellings(`${file}.mimeType`))
    .map((field) => ({
      field,
      plain: /^(?!audio)/i,
      why: 'audio has its own price',
      price: 'input_audio_token',
    }))
}
