// SPDX-License-Identifier: MIT
// key_space: small versioned values stored beside the journals.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;
using Keys = std::vector<std::string>;

std::string value_at(CheckpointStore& store, std::string_view space, std::string_view key) {
  const auto seen = must(store.get(space, key), "get()");
  expect(seen.has_value(), "the key \"" + printable(key) + "\" is not there");
  return seen->bytes;
}
void put(CheckpointStore& store, std::string_view space, std::string_view key,
         std::string_view bytes = "x") {
  expect_equal(must(store.put_if(space, key, 0, bytes), "put_if()"), 1U, "first version");
}

void missing_key(Trial& trial) {
  expect(!must(trial.store().get("space", "key"), "get()"), "a key is there that nobody wrote");
}
void first_version(Trial& trial) {
  put(trial.store(), "space", "key", "one");
  const auto seen = must(trial.store().get("space", "key"), "get()");
  expect(seen.has_value(), "the key is not there");
  expect_equal(seen->bytes, "one", "value");
  expect_equal(seen->version, 1U, "version");
}
void versions_grow(Trial& trial) {
  put(trial.store(), "space", "key");
  for (std::uint64_t version = 1; version < 20; ++version) {
    expect_equal(
        must(trial.store().put_if("space", "key", version, std::to_string(version)), "put_if()"),
        version + 1, "version");
  }
  expect_equal(value_at(trial.store(), "space", "key"), "19", "value");
}
void taken(Trial& trial) {
  put(trial.store(), "space", "key", "one");
  refused(Errc::conflict, trial.store().put_if("space", "key", 0, "two"), "writing a taken key");
  expect_equal(value_at(trial.store(), "space", "key"), "one", "value");
}
void old_version(Trial& trial) {
  put(trial.store(), "space", "key", "one");
  must(trial.store().put_if("space", "key", 1, "two"), "put_if()");
  refused(Errc::conflict, trial.store().put_if("space", "key", 1, "three"), "an old version");
  refused(Errc::conflict, trial.store().put_if("space", "key", 3, "three"), "a version to come");
  expect_equal(value_at(trial.store(), "space", "key"), "two", "value");
}
void absent_version(Trial& trial) {
  refused(Errc::conflict, trial.store().put_if("space", "key", 1, "x"),
          "a version of what is not there");
  expect(!must(trial.store().get("space", "key"), "get()"), "a refused key is there");
}
void removed(Trial& trial) {
  put(trial.store(), "space", "key");
  must(trial.store().erase_if("space", "key", 1), "erase_if()");
  expect(!must(trial.store().get("space", "key"), "get()"), "a removed key is there");
  expect_equal(must(trial.store().list("space", ""), "list()").size(), 0U, "keys");
}
void removed_as_read(Trial& trial) {
  put(trial.store(), "space", "key");
  must(trial.store().put_if("space", "key", 1, "two"), "put_if()");
  refused(Errc::conflict, trial.store().erase_if("space", "key", 1), "removing an old version");
  refused(Errc::conflict, trial.store().erase_if("space", "key", 0), "removing version 0");
  expect_equal(value_at(trial.store(), "space", "key"), "two", "value");
}
void removed_twice(Trial& trial) {
  put(trial.store(), "space", "key");
  must(trial.store().erase_if("space", "key", 1), "erase_if()");
  must(trial.store().erase_if("space", "key", 1), "erase_if() again");
  must(trial.store().erase_if("none", "key", 0), "erase_if() of what never was");
}
void begins_anew(Trial& trial) {
  put(trial.store(), "space", "key");
  must(trial.store().put_if("space", "key", 1, "two"), "put_if()");
  must(trial.store().erase_if("space", "key", 2), "erase_if()");
  put(trial.store(), "space", "key", "again");
}

void listed_in_order(Trial& trial) {
  for (const char* key : {"b", "a/2", "c", "a/10", "a", "B", "~"}) put(trial.store(), "s", key);
  expect_equal(
      must(trial.store().list("s", ""), "list()") == Keys{"B", "a", "a/10", "a/2", "b", "c", "~"},
      true, "the order of the keys");
}
void listed_by_prefix(Trial& trial) {
  for (const char* key : {"k/b", "k/a", "k", "l", "K"}) put(trial.store(), "s", key);
  expect(must(trial.store().list("s", "k"), "list()") == Keys{"k", "k/a", "k/b"}, "another list");
  expect(must(trial.store().list("s", "k/"), "list()") == Keys{"k/a", "k/b"}, "another list");
  expect(must(trial.store().list("s", "x"), "list()").empty(), "keys that nobody wrote");
}
void high_bytes(Trial& trial) {
  const Keys odd{std::string("\x7f"), std::string("\x80"), std::string("\xff"),
                 std::string("\xff\xff"), std::string("\xff\xff\x01")};
  for (const std::string& key : odd) put(trial.store(), "s", key);
  expect(must(trial.store().list("s", ""), "list()") == odd, "the order of high bytes");
  expect(must(trial.store().list("s", "\xff"), "list()") == Keys(odd.begin() + 2, odd.end()),
         "the prefix ff");
}
void literal_prefix(Trial& trial) {
  const Keys odd{"%", "*", "?", "[a]", "\\", "^a", "_", "a", "{1}"};
  for (const std::string& key : odd) put(trial.store(), "s", key);
  for (const std::string& key : odd) {
    expect(must(trial.store().list("s", key), "list()") == Keys{key},
           "the prefix \"" + key + "\" means more than itself");
  }
}
void spaces_apart(Trial& trial) {
  put(trial.store(), "one", "key", "1");
  put(trial.store(), "two", "key", "2");
  put(trial.store(), "on", "ekey", "3");
  expect_equal(value_at(trial.store(), "one", "key"), "1", "value");
  expect_equal(value_at(trial.store(), "two", "key"), "2", "value");
  expect(must(trial.store().list("on", ""), "list()") == Keys{"ekey"}, "keys of another space");
  must(trial.store().erase_if("one", "key", 1), "erase_if()");
  expect_equal(value_at(trial.store(), "two", "key"), "2", "value");
}
void no_separator(Trial& trial) {
  for (const auto& [space, key] : {std::pair<std::string, std::string>{"a", "b/c"},
                                   {"a/b", "c"},
                                   {"a:b", "c"},
                                   {"a", "b:c"},
                                   {std::string("a\0b", 3), "c"},
                                   {"a", std::string("b\0c", 3)}}) {
    put(trial.store(), space, key, space + "+" + key);
  }
  expect_equal(value_at(trial.store(), "a", "b/c"), "a+b/c", "value");
  expect_equal(value_at(trial.store(), "a/b", "c"), "a/b+c", "value");
  expect_equal(must(trial.store().list("a", ""), "list()").size(), 3U, "keys of space a");
}
void any_value(Trial& trial) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  put(trial.store(), "space", "key", all);
  expect_equal(value_at(trial.store(), "space", "key"), all, "value");
}
void any_key(Trial& trial) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  put(trial.store(), all, all, "x");
  expect_equal(value_at(trial.store(), all, all), "x", "value");
  expect(must(trial.store().list(all, all.substr(0, 9)), "list()") == Keys{all}, "another list");
}
void empty_value(Trial& trial) {
  put(trial.store(), "space", "key", "");
  expect_equal(value_at(trial.store(), "space", "key"), "", "value");
  must(trial.store().put_if("space", "key", 1, ""), "put_if()");
}
void empty_key(Trial& trial) {
  put(trial.store(), "space", "", "x");
  expect_equal(value_at(trial.store(), "space", ""), "x", "value");
  expect(must(trial.store().list("space", ""), "list()") == Keys{""}, "another list");
}
void kept(Trial& trial) {
  put(trial.store(), "space", "key", "one");
  must(trial.store().put_if("space", "key", 1, "two"), "put_if()");
  put(trial.store(), "space", "gone");
  must(trial.store().erase_if("space", "gone", 1), "erase_if()");
  CheckpointStore& again = trial.reopen();
  expect_equal(value_at(again, "space", "key"), "two", "value");
  expect_equal(must(again.put_if("space", "key", 2, "three"), "put_if()"), 3U, "version");
  expect(!must(again.get("space", "gone"), "get()"), "a removed key is back");
}
void shared(Trial& trial) {
  put(trial.store(), "space", "key", "one");
  const auto other = trial.open();
  expect_equal(value_at(*other, "space", "key"), "one", "value in another opening");
  must(other->put_if("space", "key", 1, "two"), "put_if()");
  expect_equal(value_at(trial.store(), "space", "key"), "two", "value");
  refused(Errc::conflict, trial.store().put_if("space", "key", 1, "x"), "an old version");
}

}  // namespace

Clauses key_space_clauses() {
  return {
      {key_space, "missing", "A key that nobody wrote has no value.", nothing, missing_key},
      {key_space, "first", "A key is first written at version 1.", keys, first_version},
      {key_space, "versions", "The version grows by one with each write.", keys, versions_grow},
      {key_space, "taken", "A key that is there is not written as a new one.", keys, taken},
      {key_space, "as-read", "A key is written only over the version that was read.", keys,
       old_version},
      {key_space, "absent", "What is not there has no version to write over.", keys,
       absent_version},
      {key_space, "removed", "A removed key is gone, from lists too.", keys, removed},
      {key_space, "removed-as-read", "A key is removed only as it was read.", keys,
       removed_as_read},
      {key_space, "removed-twice", "What is gone need not be removed.", keys, removed_twice},
      {key_space, "anew", "A key that is written again begins at version 1.", keys, begins_anew},
      {key_space, "list-order", "Keys are listed in the order of their bytes.", keys,
       listed_in_order},
      {key_space, "list-prefix", "Keys are listed by how they begin.", keys, listed_by_prefix},
      {key_space, "list-high-bytes", "Bytes above 127 are listed behind all others.", keys,
       high_bytes},
      {key_space, "list-literal", "A prefix means itself, no pattern.", keys, literal_prefix},
      {key_space, "spaces", "Spaces know nothing of each other.", keys, spaces_apart},
      {key_space, "no-separator", "No text in a space or key runs into the other.", keys,
       no_separator},
      {key_space, "any-value", "Values may be any bytes.", keys, any_value},
      {key_space, "any-key", "Spaces and keys may be any bytes.", keys, any_key},
      {key_space, "empty-value", "A value may be empty, which is not absent.", keys, empty_value},
      {key_space, "empty-key", "A key may be empty.", keys, empty_key},
      {key_space, "kept", "Keys, versions and removals are there in the next opening.",
       keys | reopening, kept},
      {key_space, "shared", "Openings see each other's keys at once.", keys | processes | reopening,
       shared},
  };
}

}  // namespace triage::inline v0_1::testing::kit
