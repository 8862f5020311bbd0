;; Judges a history that t/judge/unique_ids.pl has written by Jepsen's checker unique-ids, and prints its result:
;;
;;     java -cp CLASSPATH clojure.main jepsen.clj HISTORY
;;
;; The class path has Clojure, jepsen/checker.clj, and jepsen.history with what that needs. Of checker.clj only the
;; three forms of this checker are evaluated: the others need all of Jepsen. Exit status: 0 if the history is valid, 1
;; if not.
(ns jepsen.checker
  (:require [clojure.core.reducers :as r]
            [clojure.edn :as edn]
            [clojure.java.io :as io]
            [jepsen.history :as h]
            [tesser.core :as t])
  (:import (java.io PushbackReader)))

(defn forms [reader-of source]
  (with-open [in (PushbackReader. (io/reader source))]
    (doall (take-while #(not= ::end %) (repeatedly #(reader-of {:eof ::end} in))))))

(doseq [form (forms read (io/resource "jepsen/checker.clj"))
        :when (#{'[defprotocol Checker] '[defrecord UniqueIds] '[defn unique-ids]} (take 2 form))]
  (eval form))

(let [history (h/history (forms edn/read (first *command-line-args*)))
      {[lowest highest] :range :as result} (check (eval '(unique-ids)) {} history {})]
  (doseq [count [:attempted-count :acknowledged-count :duplicated-count]]
    (println (name count) (result count)))
  (println "lowest" lowest)
  (println "highest" highest)
  (shutdown-agents)
  (System/exit (if (:valid? result) 0 1)))
