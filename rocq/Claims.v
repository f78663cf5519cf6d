(* What a claim's file says: an equation that holds for all sizes, inputs and indices, under what it assumes.

   A derivative in it is the real derivative, and part of what is said is that it exists. *)
From Coq Require Import ZArith NArith.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum reals.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Tables Slopes Statements.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition index_of (name : N) (size : nat) : index := (name, size).
Arguments index_of name%num size%nat.

(* at an input: the derivatives exist, and both sides have one value at all indices *)
Definition comes_true (R : realType) (size_of : nat -> nat) (scalar : nat -> R)
    (arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R) (T : table) (input : nat -> seq nat -> R)
    (h : formula * formula) : Prop :=
  let as_given : given_entries R := fun=> None in
  forall r, valid size_of r ->
  [/\ derivatives_exist size_of scalar arbitrary T input as_given r h.1,
      derivatives_exist size_of scalar arbitrary T input as_given r h.2
    & formula_value size_of scalar arbitrary T input as_given r h.1
      = formula_value size_of scalar arbitrary T input as_given r h.2].
(* over the real numbers R, where `arbitrary` are the functions of which the checker knows nothing *)
Definition says (R : realType) (arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R)
    (T : table) (given : seq condition) (hypotheses : seq equation) (h : formula * formula) : Prop :=
  forall (size_of : nat -> nat) (scalar : nat -> R) (input : nat -> seq nat -> R),
  (forall s, 0 < size_of s)%N -> (forall n, 0 < scalar n) ->
  (forall c, List.In c given -> condition_holds size_of scalar arbitrary T input c) ->
  (forall g, List.In g hypotheses -> holds size_of (power size_of scalar) (entries_of size_of scalar arbitrary T input) g) ->
  comes_true size_of scalar arbitrary T input h.
Definition always (T : table) (given : seq condition) (hypotheses : seq equation) (h : formula * formula) : Prop :=
  forall (R : realType) (arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R), says arbitrary T given hypotheses h.
Definition accepts (T : table) given hypotheses steps (h : formula * formula) p : bool :=
  [&& well_formed T, proper T given [::] h.1, proper T given [::] h.2
    & proves T given hypotheses steps (lower T h.1, lower T h.2) p].

(* it is enough that the expressions which the kernel computes with are equal *)
Lemma lowered_comes_true (R : realType) (size_of : nat -> nat) (scalar : nat -> R)
    (arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R) T given (input : nat -> seq nat -> R) h :
  (forall s, 0 < size_of s)%N -> (forall n, 0 < scalar n) ->
  well_formed T -> proper T given [::] h.1 -> proper T given [::] h.2 ->
  (forall c, List.In c given -> condition_holds size_of scalar arbitrary T input c) ->
  holds size_of (power size_of scalar) (entries_of size_of scalar arbitrary T input) (lower T h.1, lower T h.2) ->
  comes_true size_of scalar arbitrary T input h.
Proof.
move=> S0 P0 wf Pl Pr G E as_given r rV.
have none : within_scope [::] as_given by move=> k; case.
have G' c : List.In c given -> condition_in size_of scalar T (entries_at size_of scalar arbitrary input T as_given) c.
  by move/G; rewrite condition_in_input.
have [Dl ->] := formula_right S0 P0 wf Pl isT none G' rV.
have [Dr ->] := formula_right S0 P0 wf Pr isT none G' rV.
split=> //; rewrite entries_at_none; exact: (E r rV).
Qed.
Theorem accepts_correct T given hypotheses steps h p : accepts T given hypotheses steps h p ->
  always T given hypotheses h.
Proof.
case/and4P => wf Pl Pr A R arbitrary size_of scalar input S0 P0 G H.
exact: (lowered_comes_true S0 P0 wf Pl Pr G (proves_correct S0 P0 wf G A H)).
Qed.
