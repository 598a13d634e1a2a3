// The codes of errors with status 400: what each means, and what helps. ../error-codes.ts has all others.

/** Whether a repeat helps, if the status of an error suggests otherwise. */
export type Repeat = 'yes' | 'no' | 'as `x-should-retry` says'
/** A code, with the command that shows its reason. */
export type CodeRow = readonly [meaning: string, cure: string, look?: string | undefined, repeat?: Repeat]

export const badRequestCodes = {
  body_too_complex: ['The body has more values or fields than allowed.', 'Send less in one request.'],
  body_unreadable: [
    'The body broke off, or is not encoded as its headers say.',
    'Send it again; a proxy between may have cut it.',
  ],
  content_policy_violation: [
    'The vendor refuses this content.',
    'Change the prompt or the picture. A video that ends so costs nothing.',
  ],
  conversation_too_long: [
    'A kept conversation has more items or bytes than allowed.',
    'Start a new one with a summary.',
  ],
  decimal_above_max_value: ['A number is too large.', 'Keep to the bound in the message.'],
  decimal_below_min_value: ['A number is too small.', 'Keep to the bound in the message.'],
  duplicate_field: ['A field appears twice in the body or the form.', 'Send it once.'],
  duplicate_item: ['An item is in the conversation already.', 'Send only what is new.'],
  empty_array: ['A list has no item.', 'Send at least one.'],
  empty_file: ['A file has no bytes.', 'Check the path that the client sends.'],
  empty_string: ['A text is empty.', 'Send at least one character.'],
  endpoint_model_mismatch: [
    'The model serves another endpoint.',
    'Ask it at the path in the message.',
    'gateway models list',
  ],
  integer_above_max_value: ['A whole number is too large.', 'Keep to the bound in the message.'],
  integer_below_min_value: ['A whole number is too small.', 'Keep to the bound in the message.'],
  invalid_form: ['The form is not valid multipart/form-data.', 'Let a library write it.'],
  invalid_encrypted_content: [
    'Sealed content was altered, or is a summary of another account or gateway.',
    'Send it as it came, or leave its item out and send the conversation itself.',
  ],
  invalid_json: ['The body is not valid JSON.', 'Let a library write it.'],
  invalid_host: ['The header Host is not one name or address.', 'Check the proxy before the gateway.'],
  invalid_mask: ['The mask does not fit the picture.', 'Send a PNG of the size of the picture.'],
  invalid_message: ['The body is not one JSON-RPC message.', 'Send one object; lists are not accepted.'],
  invalid_path: [
    "The path has a backslash or a segment '.' or '..', which a proxy may read in another way.",
    'Send the path that is meant.',
  ],
  invalid_signature: [
    'A report of a payment is not signed with the configured secret, or is too old.',
    'Compare `payments.stripe.signingSecret` with that of the endpoint; set the clock.',
    'gateway doctor',
  ],
  invalid_type: ['A field has the wrong type.', 'Send the type that the message names.'],
  invalid_value: [
    'A field or parameter has a value that is not accepted.',
    'Send one that the message names.',
  ],
  max_cost_exceeded: [
    'The request can cost more than it allows itself in `max_cost_usd`.',
    'Allow more, or ask for less.',
  ],
  missing_required_parameter: ['A field that must be there is missing.', 'Add it.'],
  mutually_exclusive_parameters: ['Two fields exclude each other.', 'Send one of them.'],
  previous_response_not_found: [
    'The response to continue was not kept, was deleted, or is too old.',
    'Send the whole conversation in `input`; keep longer with `responses.keep`.',
  ],
  too_deep: ['The body is too deeply nested.', 'Send flatter JSON.'],
  too_many_rows: [
    'A report has more rows than one answer holds.',
    'Choose a shorter period or one dimension, or ask for a file with `format=csv`.',
  ],
  unknown_parameter: ['No such field, or not for this model.', 'Leave it out, or correct its spelling.'],
  unreadable_audio: ['The audio cannot be read.', 'Convert it to one of the formats in the message.'],
  unsupported_audio_format: ['Audio of this format is not supported.', 'Convert it.'],
  unsupported_endpoint: [
    'This gateway keeps no conversations.',
    'Send the conversation in each request, or set `responses.keep`.',
  ],
  unsupported_image_format: ['The content of the picture is not PNG, JPEG or WebP.', 'Convert it.'],
  unsupported_operation: ['The model cannot make another video of this one.', 'Make a new one.'],
  unsupported_parameter: [
    'The model has no such field, or no price for what it costs.',
    'Leave it out, choose another model, or set its price.',
    'gateway models list',
  ],
  upstream_refused: ['The vendor refuses the request, without a code.', 'Follow its message.'],
  unsupported_value: ['The model has no such value, or no price for it.', 'Send another value.'],
} satisfies Record<string, CodeRow>
