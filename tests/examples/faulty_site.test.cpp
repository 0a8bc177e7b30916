// SPDX-License-Identifier: MIT
// The demonstration's site: its faults are a function of the seed, and it serves pages.
#include "site/faulty_site.hpp"

#include "support/catch.hpp"

#include <set>

TEST_CASE("the faults of a seed are always the same, and seeds differ", "[examples]") {
  std::set<site::Fault> seen;
  int faults = 0;
  int different = 0;
  for (long request = 1; request <= 2000; ++request) {
    const auto one = site::planned_fault(1, request, 0.05);
    const auto again = site::planned_fault(1, request, 0.05);
    CHECK(one.fault == again.fault);
    CHECK(one.lasts == again.lasts);
    different += one.fault != site::planned_fault(2, request, 0.05).fault ? 1 : 0;
    faults += one.fault != site::Fault::none ? 1 : 0;
    seen.insert(one.fault);
    CHECK(site::planned_fault(0, request, 0.05).fault == site::Fault::none);
  }
  CHECK(seen.size() == 6);  // All five faults, and no fault.
  CHECK(faults > 60);
  CHECK(faults < 140);
  CHECK(different > 100);
}

TEST_CASE("the project's documents make a site whose pages link to each other", "[examples]") {
  const site::Pages pages = site::render_folder(DOCS_FOLDER);
  REQUIRE(pages.contains("/index.html"));
  std::set<std::string> reached{"/index.html"};
  std::vector<std::string> todo{"/index.html"};
  while (!todo.empty()) {
    const std::string path = todo.back();
    todo.pop_back();
    for (const std::string& link : site::links_of(pages.at(path))) {
      INFO(path << " links to " << link);
      CHECK(pages.contains(link));
      if (pages.contains(link) && reached.insert(link).second) todo.push_back(link);
    }
  }
  CHECK(reached.size() == pages.size());
}

TEST_CASE("words are counted outside of tags, and links are listed once", "[examples]") {
  const std::string html = R"(<h1>Two words</h1><p><a href="/a">one</a> <a href="/a">two</a></p>)";
  CHECK(site::words_of(html) == 4);
  CHECK(site::links_of(html) == std::vector<std::string>{"/a"});
}
